export type Role = 'owner' | 'administrator' | 'manager' | 'developer' | 'billing' | 'viewer';

/** The kinds of token, by the prefix that they carry: `bp_pat_…`, `bp_bak_…`, `bp_iak_…`, `bp_op_…`; and the key of an end user. */
export type CredentialKind = 'none' | 'pat' | 'bak' | 'iak' | 'operator' | 'user';

/** Bytes of files, and of files that are indexed. */
export interface CallerQuotas {
  storage_count: number;
  knowledgebase_vector_storage: number;
}

/** Who is asking. Travels in the headers of every bus message, never in a payload. */
export interface Caller {
  requestId: string;
  /** W3C trace context of the request. */
  traceparent?: string;
  /** Network address that the request came from, for the audit records. */
  address?: string;
  credential: CredentialKind;
  account?: { id: string; email: string };
  workspace?: { id: string };
  /** Role of the account in the workspace; absent when no account or no workspace is involved. */
  role?: Role;
  bot?: { id: string; workspaceId: string };
  /** What the workspace of the bot may use, as far as other services than admin count it. */
  quotas?: CallerQuotas;
  /** The integration that it acts as, with the alias of its installation when that is in a bot. */
  integration?: { id: string; alias?: string };
  /** What an end user shows on the chat endpoint. Nobody has verified it before the chat service does. */
  userKey?: string;
  /** The user of the bot that it acts for. */
  user?: { id: string };
  /** The header `Idempotency-Key`, where the operation takes it. */
  idempotencyKey?: string;
}

/** Who asks on behalf of nobody: the gateway before it knows its caller, and the start of the platform. */
export function systemCaller(requestId: string): Caller {
  return { requestId, credential: 'none' };
}
