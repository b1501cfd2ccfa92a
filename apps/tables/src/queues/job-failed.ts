/** Permanent failure of a job. The message is public: the reason and the remedy. */
export class JobFailed extends Error {
  override readonly name = 'JobFailed';
}
