import { SchemaChecker } from './schema-checker';

it('gives a check 2 s of processor time, 128 MB, and 8 s by the clock', () => {
  expect(new SchemaChecker()['tasks']['options']).toMatchObject({ processorMs: 2_000, heapMb: 128, deadlineMs: 8_000 });
});
