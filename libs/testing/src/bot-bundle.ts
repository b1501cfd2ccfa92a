import { build } from 'esbuild';

/** Code of the bot that a module exports, as the CLI bundles it: one CommonJS file with everything included. */
export async function bundleAsCli(module: string, resolveDir: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import bot from '${module}'; export default bot; export const handler = bot.handler;`,
      resolveDir,
    },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'es2020',
    keepNames: true,
    minify: true,
    logLevel: 'error',
    write: false,
  });
  return outputFiles[0]!.text;
}
