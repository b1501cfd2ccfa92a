/** Error for a file that cannot be read. Its message is public: the problem and the remedy. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}
