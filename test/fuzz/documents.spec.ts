import * as fc from 'fast-check';
import { mutantsOf, readMutant } from '../faults/bombs/mutants';
import { structures } from '../faults/bombs/structures';

/** As for the other fuzz tests: `FUZZ_SEED=7 FUZZ_CASES=2000 npm test -- test/fuzz/documents` looks further. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1);
const cases = Number(process.env['FUZZ_CASES'] ?? 10);

it.each(structures().map((structure) => [structure.key, structure] as const))(
  'reads changed documents of %s as valid blocks, or refuses them with a reason',
  async (_key, structure) => {
    await fc.assert(fc.asyncProperty(mutantsOf(structure), readMutant), { seed, numRuns: cases });
  },
  120_000 + cases * 1_000,
);
