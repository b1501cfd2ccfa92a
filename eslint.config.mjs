import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';
import { noSave } from './tools/no-save.mjs';
import { plainWords } from './tools/plain-words.mjs';

const nodeGlobals = [
  'AbortSignal',
  'Buffer',
  'URL',
  'clearTimeout',
  'console',
  'fetch',
  'performance',
  'process',
  'setTimeout',
];
const commonJsGlobals = ['__dirname', 'module', 'require'];

const bannedSyntax = [
  { selector: 'TSEnumDeclaration', message: 'Use a union of strings.' },
  {
    selector: 'ExportAllDeclaration[exported=null]',
    message: 'No barrels: import from the file that declares the thing.',
  },
  {
    selector: 'MemberExpression[object.name=/^(describe|it|test)$/][property.name="only"]',
    message: 'The other tests have to run too.',
  },
  {
    selector: 'CallExpression[callee.name=/^([fx]it|[fx]describe|xtest)$/]',
    message: 'Every test runs.',
  },
  {
    selector: 'CallExpression[callee.object.name=/^(describe|it|test)$/][callee.property.name=/^(skip|todo)$/]',
    message: 'A test that needs a server chooses by condition: `const suite = url ? describe : describe.skip`.',
  },
];

const bannedTypeOrm = [
  {
    selector: 'ClassDeclaration[superClass.name="Repository"]',
    message: 'A repository of ours has one of TypeORM, by @InjectRepository: it does not extend it.',
  },
];

const bannedInTests = [
  {
    selector: 'ImportDeclaration[source.value="node:timers/promises"] ImportSpecifier[imported.name="setTimeout"]',
    message: 'Wait for a condition with `until`, or move a clock.',
  },
  {
    selector: 'NewExpression[callee.name="Promise"] CallExpression[callee.name="setTimeout"]',
    message: 'Wait for a condition with `until`, or move a clock.',
  },
  {
    selector: 'CallExpression[callee.object.name="jest"][callee.property.name="retryTimes"]',
    message: 'A test that fails has failed.',
  },
];

export default defineConfig(
  { ignores: ['examples/', 'dist/', 'coverage/', '.parley/'] },
  js.configs.recommended,
  {
    plugins: { words: { rules: { 'plain-words': plainWords } }, typeorm: { rules: { 'no-save': noSave } } },
    rules: { 'words/plain-words': 'error' },
  },
  {
    files: ['**/*.{js,cjs,mjs}'],
    languageOptions: { globals: readonly(nodeGlobals) },
  },
  {
    files: ['**/*.{js,cjs}'],
    languageOptions: { sourceType: 'commonjs', globals: readonly(commonJsGlobals) },
  },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './apps/console/tsconfig.json', './apps/webchat/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      // Leaves files with decorators alone: there, Nest reads the classes at run time.
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // A `default` does not make a switch over a union exhaustive: each new member has to be thought about.
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { requireDefaultForNonUnion: true }],
      // Enums are only those of libraries, whose values arrive as plain strings.
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
      // A method of a port is async in every adapter, also in one that has nothing to wait for.
      '@typescript-eslint/require-await': 'off',
      'no-console': 'error',
      // A catch that does nothing needs a comment that says why that is right.
      'no-empty': 'error',
      'no-restricted-imports': [
        'error',
        {
          paths: [
            {
              name: 'class-validator',
              importNames: ['IsOptional'],
              message: 'It lets null through. Use @Optional() or @Nullable() of @parley/contracts/fields.',
            },
          ],
        },
      ],
      'no-restricted-syntax': ['error', ...bannedSyntax, ...bannedTypeOrm],
      'typeorm/no-save': 'error',
    },
  },
  {
    // Matchers such as `expect.objectContaining()` are typed `any`, and tests read replies as they come.
    files: ['**/*.spec.ts', 'libs/testing/**/*.ts', 'test/**/*.ts', 'deploy/test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    files: ['**/*.spec.ts', '**/*.behaviour.ts'],
    rules: { 'no-restricted-syntax': ['error', ...bannedSyntax, ...bannedInTests] },
  },
  {
    // Manifests are what YAML holds, and each kind has a shape of its own.
    files: ['deploy/test/**/*.ts'],
    rules: { '@typescript-eslint/no-explicit-any': 'off' },
  },
  {
    files: ['apps/cli/**/*.ts', 'apps/standalone/src/**/*.ts', 'bench/**/*.ts', 'test/faults/*/main.ts'],
    rules: { 'no-console': 'off' },
  },
);

function readonly(names) {
  return Object.fromEntries(names.map((name) => [name, 'readonly']));
}
