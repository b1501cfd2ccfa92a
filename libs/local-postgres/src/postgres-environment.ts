/** Without our secrets: what runs as another user could read them. English messages, so that we can tell them apart. */
export function postgresEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH, LC_ALL: 'C' };
}
