/** Text that code printed. Without an invocation, it was printed outside of any. */
export interface CodeOutput {
  invocationId?: string;
  stream: 'stdout' | 'stderr';
  text: string;
}
