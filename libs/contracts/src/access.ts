import { ApiError } from './errors';
import type { Caller, CredentialKind, Role } from './caller';

/** What a role lets its holder do in a workspace; `belong` is enough for every role, also for billing. */
export type Permission = 'belong' | 'read' | 'write' | 'manage' | 'administer' | 'own';

/** On whose behalf an operation runs. `service` operations have no route: only other services ask them. */
export type Actor =
  'anyone' | 'token' | 'account' | 'workspace' | 'bot' | 'chat-user' | 'chat-visitor' | 'operator' | 'service';

/** Who may call an operation. An account operation asks nothing of a workspace role; the service decides. */
export interface Access<A extends Actor = Actor> {
  actor: A;
  permission: Permission;
  credentials: readonly CredentialKind[];
}

type With<K extends 'account' | 'workspace' | 'bot' | 'userKey'> = Caller & Required<Pick<Caller, K>>;

/** The caller as an operation with this access sees it: what the access promises is there. */
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
export const service = access('service', 'read', []);
/** Whoever shows a token of an account or a bot, without naming a workspace or a bot; the service decides. */
export const token = access('token', 'belong', ['pat', 'bak']);
export const account = access('account', 'read', ['pat']);
/**
 * Needs `x-workspace-id`, except from an account that belongs to one workspace, and from a bot or integration key, which
 * brings its own workspace where it is allowed at all.
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
 * Needs `x-bot-id`. A bot key may do what its bot may; a personal token needs the role. An integration acts on the bots
 * that have installed it, where it may act at all.
 */
export const bot = {
  read: access('bot', 'read', ['pat', 'bak']),
  write: access('bot', 'write', ['pat', 'bak']),
  readAlsoByIntegration: access('bot', 'read', ['pat', 'bak', 'iak']),
  writeAlsoByIntegration: access('bot', 'write', ['pat', 'bak', 'iak']),
};

/** An end user on the chat endpoint. Needs `x-user-key`, which the chat service verifies. */
export const chatUser = access('chat-user', 'read', ['user']);
/** Somebody on the chat endpoint who has no key yet. */
export const chatVisitor = access('chat-visitor', 'read', ['none', 'user']);

export function hasPermission(role: Role, permission: Permission): boolean {
  return ranks[permission].includes(role);
}

export function rolesWith(permission: Permission): readonly Role[] {
  return ranks[permission];
}

/** Throws Forbidden unless the caller may call an operation with this access. */
export function authorize(access: Access, caller: Caller): void {
  if (access.actor === 'anyone') return;
  if (caller.integration?.alias !== undefined && !access.credentials.includes('iak')) {
    throw new ApiError(
      'Forbidden',
      'Acting as an integration of a bot comes with a later version: leave out the headers x-integration-id, x-integration-alias and x-integration-name.',
    );
  }
  if (!access.credentials.includes(caller.credential)) {
    throw new ApiError('Forbidden', `${credentialNames[caller.credential]} may not call this operation.`);
  }
  if (caller.role) requirePermission(caller.role, access.permission);
}

/** Throws Forbidden unless the role has the permission. */
export function requirePermission(role: Role, permission: Permission): void {
  if (hasPermission(role, permission)) return;
  const enough = ranks[permission].join(', ');
  throw new ApiError('Forbidden', `The role ${role} may not do this; it takes one of: ${enough}.`);
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
