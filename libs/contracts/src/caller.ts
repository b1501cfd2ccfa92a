export type Role = 'owner' | 'administrator' | 'manager' | 'developer' | 'billing' | 'viewer';

/**
 * Kinds of credential. Tokens have a prefix each: `bp_pat_…`, `bp_bak_…`, `bp_iak_…`, `bp_op_…`; `user` is the key of
 * an end user.
 */
export type CredentialKind = 'none' | 'pat' | 'bak' | 'iak' | 'operator' | 'user';

/** Bytes of all files, and of indexed files. */
export interface CallerQuotas {
  storage_count: number;
  knowledgebase_vector_storage: number;
}

/** Role of the account in a bot other than that of `x-bot-id`; `null` when it has none or the bot does not exist. */
export interface OtherBot {
  id: string;
  role: Role | null;
  /** Workspace of the bot, and its quotas; present when there is a role. */
  workspaceId?: string;
  quotas?: CallerQuotas;
}

/** Name and handle of a workspace, as of at most a second ago. */
export interface CallerLabel {
  id: string;
  name: string;
  handle: string | null;
  /** Time of the last change: a later label replaces an earlier one. */
  updatedAt: string;
  isOperators?: boolean;
}

/**
 * Principal of a request. Sent as the first line of the bus message (its head, as JSON), separate from the input;
 * handlers get it as their first argument.
 */
export interface Caller {
  requestId: string;
  traceparent?: string;
  /** Network address of the client, for the audit log. */
  address?: string;
  credential: CredentialKind;
  account?: { id: string; email: string };
  /** With its label for operations that declare `isWorkspaceLabelled`. */
  workspace?: { id: string; label?: CallerLabel };
  /** Role of the account in the workspace; absent when no account or no workspace is involved. */
  role?: Role;
  bot?: { id: string; workspaceId: string };
  /** Bot in the field that the operation declares as `otherBotField`. */
  otherBot?: OtherBot;
  /** Quotas of the bot's workspace that services other than admin enforce. */
  quotas?: CallerQuotas;
  /** Integration that the request acts as, with the alias of its installation when a bot is addressed. */
  integration?: { id: string; alias?: string };
  /** Key of an end user, not verified before the chat service does so. */
  userKey?: string;
  user?: { id: string };
  /** Number of actions that the request is made within: see `actionDepthHeader`. */
  actionDepth?: number;
  /** Key of the streamed answer, for operations that declare `answers`. */
  answerKey?: string;
  /** Value of the header `Idempotency-Key`, if the operation accepts it. */
  idempotencyKey?: string;
}

/** Caller that acts for a bot: for services without an authenticated request, such as in a handler of events. */
export function botCaller(requestId: string, botId: string): Caller {
  return { requestId, credential: 'bak', bot: { id: botId, workspaceId: '' } };
}

/** Caller without credentials: for calls between services that run before or without an authenticated request. */
export function systemCaller(requestId: string): Caller {
  return { requestId, credential: 'none' };
}
