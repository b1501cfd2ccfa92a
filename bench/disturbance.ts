/** Load that makes other clients wait. */
export type Disturbance =
  | {
      kind: 'bodies';
      url: string;
      line: string;
      headers: Record<string, string>;
      bodyFile: string;
      connections: number;
    }
  | { kind: 'silent sockets'; url: string; line: string; headers: Record<string, string>; sockets: number }
  | {
      kind: 'requests';
      url: string;
      line: string;
      headers: Record<string, string>;
      body?: string;
      connections: number;
      /** Each connection sends its next request this long after the answer; by default at once. */
      pauseMs?: number;
      /** Each connection sends one request only. */
      isOnce?: boolean;
    };

/** Stands for another random text in each of the `requests`. */
export const uniquePlaceholder = '{unique}';
/** Stands for another well-formed token in each of the `requests`. */
export const tokenPlaceholder = '{token}';
