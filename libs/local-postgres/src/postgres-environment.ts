/** Environment without our secrets, which processes of the other user could read. English messages, since we match them. */
export function postgresEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH, LC_ALL: 'C' };
}
