/** The job cannot be done: the message says why, and what to do, for the person who asked for it. */
export class JobFailed extends Error {
  override readonly name = 'JobFailed';
}
