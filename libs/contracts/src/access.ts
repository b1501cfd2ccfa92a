import { ApiError } from './errors';
import type { Caller, CredentialKind, Role } from './caller';

/** Permission of a role within a workspace. Every role, billing included, has `belong`. */
export type Permission = 'belong' | 'read' | 'write' | 'manage' | 'administer' | 'own';

/** Principal that an operation runs for. `service` operations have no route: only other services call them. */
export type Actor =
  | 'anyone'
  | 'token'
  | 'account'
  | 'workspace'
  | 'bot'
  | 'chat-user'
  | 'chat-visitor'
  | 'operator'
  | 'service';

/**
 * Access rule of an operation: the credentials that it accepts and the permission that it needs. An `account` operation
 * checks no workspace role here; its service does.
 */
export interface Access<A extends Actor = Actor> {
  actor: A;
  permission: Permission;
  credentials: readonly CredentialKind[];
  /** A bot key names its bot: the header `x-bot-id` is optional with it. */
  isBotImplied?: boolean;
}

type With<K extends 'account' | 'workspace' | 'bot' | 'userKey'> = Caller & Required<Pick<Caller, K>>;

/** Caller type of a handler: the parts that the access rule guarantees are required. */
export type CallerOf<A extends Access> = A['actor'] extends 'account'
  ? With<'account'>
  : A['actor'] extends 'workspace'
    ? With<'workspace'>
    : A['actor'] extends 'bot'
      ? With<'bot' | 'workspace'>
      : A['actor'] extends 'chat-user'
        ? With<'userKey'>
        : Caller;

const ranks: Record<Permission, readonly Role[]> = {
  belong: ['owner', 'administrator', 'manager', 'developer', 'viewer', 'billing'],
  read: ['owner', 'administrator', 'manager', 'developer', 'viewer'],
  write: ['owner', 'administrator', 'manager', 'developer'],
  manage: ['owner', 'administrator', 'manager'],
  administer: ['owner', 'administrator'],
  own: ['owner'],
};

export const anyone = access('anyone', 'read', []);
export const operator = access('operator', 'own', ['operator']);
/** Operator key, or a personal access token of an owner or administrator of the operator's workspace. */
export const operators = access('operator', 'administer', ['operator', 'pat']);
export const service = access('service', 'read', []);
/** Token of an account or a bot, without a workspace or bot header; the service checks the permission. */
export const token = access('token', 'belong', ['pat', 'bak']);
export const account = access('account', 'read', ['pat']);
/**
 * Needs the header `x-workspace-id`, except for an account with a single workspace. Bot and integration keys imply
 * their workspace, where the operation accepts them.
 */
export const workspace = {
  belong: access('workspace', 'belong', ['pat']),
  read: access('workspace', 'read', ['pat']),
  write: access('workspace', 'write', ['pat']),
  manage: access('workspace', 'manage', ['pat']),
  administer: access('workspace', 'administer', ['pat']),
  readAlsoByBot: access('workspace', 'read', ['pat', 'bak']),
  readAlsoByIntegration: access('workspace', 'read', ['pat', 'iak']),
};
/**
 * Needs the header `x-bot-id`. A bot key acts on its own bot; a personal access token needs a role with the permission.
 * An integration acts on the bots that have it installed, where the operation accepts integrations.
 */
export const bot = {
  read: access('bot', 'read', ['pat', 'bak']),
  write: access('bot', 'write', ['pat', 'bak']),
  administer: access('bot', 'administer', ['pat']),
  readAlsoByIntegration: access('bot', 'read', ['pat', 'bak', 'iak']),
  writeAlsoByIntegration: access('bot', 'write', ['pat', 'bak', 'iak']),
  readOfKey: { ...access('bot', 'read', ['pat', 'bak']), isBotImplied: true },
  writeOfKey: { ...access('bot', 'write', ['pat', 'bak']), isBotImplied: true },
};

/** End user on the chat endpoint. Needs the header `x-user-key`, which the chat service verifies. */
export const chatUser = access('chat-user', 'read', ['user']);
/** Visitor of the chat endpoint without a user key so far. */
export const chatVisitor = access('chat-visitor', 'read', ['none', 'user']);

/** Whether senders need to prove nothing. */
export function isUnauthenticated({ actor }: Access): boolean {
  return actor === 'anyone' || actor === 'chat-visitor';
}

export function hasPermission(role: Role, permission: Permission): boolean {
  return ranks[permission].includes(role);
}

export function rolesWith(permission: Permission): readonly Role[] {
  return ranks[permission];
}

/** Throws Forbidden unless the caller has the credential and the role that the access rule needs. */
export function authorize(access: Access, caller: Caller): void {
  if (access.actor === 'anyone') return;
  if (caller.integration?.alias !== undefined && !access.credentials.includes('iak')) {
    throw new ApiError(
      'Forbidden',
      'An integration cannot call this operation: remove the headers x-integration-id, x-integration-alias and x-integration-name.',
    );
  }
  if (!access.credentials.includes(caller.credential)) {
    throw new ApiError('Forbidden', `${credentialNames[caller.credential]} may not call this operation.`);
  }
  if (caller.role) return requirePermission(caller.role, access.permission);
  if (access.actor === 'operator' && caller.credential !== 'operator') throw notAnOperator();
}

/** Error for an account that is not a member of the operator's workspace. */
export function notAnOperator(): ApiError {
  return new ApiError(
    'Forbidden',
    "Only owners and administrators of the operator's workspace may call this operation.",
  );
}

export function requirePermission(role: Role, permission: Permission): void {
  if (hasPermission(role, permission)) return;
  const enough = ranks[permission].join(', ');
  throw new ApiError(
    'Forbidden',
    `The role ${role} does not permit this operation: it requires one of the roles ${enough}.`,
  );
}

const credentialNames: Record<CredentialKind, string> = {
  none: 'A request without a token',
  pat: 'A personal access token',
  bak: 'A bot API key',
  iak: 'An integration API key',
  operator: 'An operator key',
  user: 'A user key',
};

function access<A extends Actor>(actor: A, permission: Permission, credentials: readonly CredentialKind[]): Access<A> {
  return { actor, permission, credentials };
}

export type AccountCaller = CallerOf<typeof account>;
export type WorkspaceCaller = CallerOf<typeof workspace.read>;
export type BotCaller = CallerOf<typeof bot.read>;
export type ChatUserCaller = CallerOf<typeof chatUser>;
