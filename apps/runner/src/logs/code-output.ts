/** Text that code printed. Without an invocation, it was printed outside of any. */
export interface CodeOutput {
  invocationId?: string;
  stream: 'stdout' | 'stderr';
  text: string;
  /** True for what one write of the code printed, or a part of that. Absent for bytes as they arrived. */
  isOneWrite?: boolean;
}
