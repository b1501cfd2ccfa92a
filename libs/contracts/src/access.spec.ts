import {
  account,
  anyone,
  authorize,
  bot,
  chatUser,
  chatVisitor,
  hasPermission,
  operator,
  type Permission,
  service,
  workspace,
} from './access';
import { systemCaller, type Caller, type CredentialKind, type Role } from './caller';

const roles: Role[] = ['owner', 'administrator', 'manager', 'developer', 'billing', 'viewer'];

const holders: Record<Permission, Role[]> = {
  belong: ['owner', 'administrator', 'manager', 'developer', 'viewer', 'billing'],
  read: ['owner', 'administrator', 'manager', 'developer', 'viewer'],
  write: ['owner', 'administrator', 'manager', 'developer'],
  manage: ['owner', 'administrator', 'manager'],
  administer: ['owner', 'administrator'],
  own: ['owner'],
};

const credentials: CredentialKind[] = ['none', 'pat', 'bak', 'iak', 'operator', 'user'];

function callerWith(credential: CredentialKind, role?: Role): Caller {
  return { requestId: 'req_1', credential, role };
}

describe('a permission', () => {
  const cases = Object.entries(holders).flatMap(([permission, allowed]) =>
    roles.map((role) => [permission, role, allowed.includes(role)] as [Permission, Role, boolean]),
  );

  it.each(cases)('grants %s to the role %s: %s', (permission, role, allowed) => {
    expect(hasPermission(role, permission)).toBe(allowed);
  });
});

describe('an operation', () => {
  const cases = Object.entries({
    'of an account': [account, ['pat']],
    'that reads a workspace': [workspace.read, ['pat']],
    'that writes in a workspace': [workspace.write, ['pat']],
    'that manages a workspace': [workspace.manage, ['pat']],
    'that reads a workspace, for bots too': [workspace.readAlsoByBot, ['pat', 'bak']],
    'that reads as a bot': [bot.read, ['pat', 'bak']],
    'that writes as a bot': [bot.write, ['pat', 'bak']],
    'of a user of a bot': [chatUser, ['user']],
    'of a user or future user of a bot': [chatVisitor, ['none', 'user']],
    'of the operator': [operator, ['operator']],
    'between services': [service, []],
  } as const).flatMap(([name, [access, allowed]]) =>
    credentials.map((credential) => ({
      name,
      access,
      credential,
      allowed: (allowed as readonly string[]).includes(credential),
    })),
  );

  it.each(cases)(
    'decides for $name whether the credential $credential is accepted: $allowed',
    ({ access, credential, allowed }) => {
      const call = () => authorize(access, callerWith(credential));

      if (allowed) expect(call).not.toThrow();
      else expect(call).toThrow(expect.objectContaining({ type: 'Forbidden', code: 403 }));
    },
  );

  it('accepts a call without a credential of an operation for anyone', () => {
    expect(() => authorize(anyone, systemCaller('req_1'))).not.toThrow();
  });

  it.each(roles)('names the sufficient roles when an operation that writes refuses a %s', (role) => {
    const call = () => authorize(bot.write, callerWith('pat', role));

    if (holders.write.includes(role)) expect(call).not.toThrow();
    else
      expect(call).toThrow(
        `The role ${role} does not permit this operation: it requires one of the roles owner, administrator, manager, developer.`,
      );
  });
});
