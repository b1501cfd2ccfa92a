import { build } from 'esbuild';

/**
 * Code of the bot that a module exports, as the CLI bundles it: one CommonJS file with everything included.
 * @param alias packages in place of others
 */
export async function bundleAsCli(module: string, resolveDir: string, alias?: Record<string, string>): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import bot from '${module}'; export default bot; export const handler = bot.handler;`,
      resolveDir,
    },
    bundle: true,
    alias,
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
