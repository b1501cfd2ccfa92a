import { noSave } from './no-save.mjs';
import { plainWords } from './plain-words.mjs';
import { testNames } from './test-names.mjs';

/** Rules of our own for oxlint: see `.oxlintrc.json`. */
export default {
  meta: { name: 'parley' },
  rules: {
    'plain-words': plainWords,
    'no-save': noSave,
    'test-names': testNames,
    'banned-syntax': bans({
      TSEnumDeclaration: 'Use a union of strings.',
      'ExportAllDeclaration[exported=null]': 'No barrels: import from the file that declares the thing.',
      'MemberExpression[object.name=/^(describe|it|test)$/][property.name="only"]': 'The other tests have to run too.',
      'CallExpression[callee.name=/^([fx]it|[fx]describe|xtest)$/]': 'Every test runs.',
      'CallExpression[callee.object.name=/^(describe|it|test)$/][callee.property.name=/^(skip|todo)$/]':
        'A test that needs a server chooses by condition: `const suite = url ? describe : describe.skip`.',
      'ClassDeclaration[superClass.name="Repository"]':
        'A repository of ours has one of TypeORM, by @InjectRepository: it does not extend it.',
    }),
    'banned-in-tests': bans({
      'ImportDeclaration[source.value="node:timers/promises"] ImportSpecifier[imported.name="setTimeout"]':
        'Wait for a condition with `waitFor`, or move a clock.',
      'NewExpression[callee.name="Promise"] CallExpression[callee.name="setTimeout"]':
        'Wait for a condition with `waitFor`, or move a clock.',
      'CallExpression[callee.object.name="jest"][callee.property.name="retryTimes"]': 'A test that fails has failed.',
    }),
  },
};

/** Rule that refuses the nodes of these selectors with their messages. */
function bans(messages) {
  const visitors = (context) =>
    Object.entries(messages).map(([selector, message]) => [selector, (node) => context.report({ node, message })]);
  return { meta: { type: 'problem', schema: [] }, create: (context) => Object.fromEntries(visitors(context)) };
}
