import { Button, NativeSelect, Stack, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { WorkspaceMember } from '@botpress/client';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { rolesWith } from '@parley/contracts/access';
import type { Role } from '@parley/contracts/caller';
import { clientOf } from '../api/client';
import { memberQuery } from '../api/queries';
import { useCan } from '../api/role';
import { Detail } from '../parts/detail';
import { Failure } from '../parts/failure';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { More, Rows } from '../parts/rows';
import { Time } from '../parts/time';
import { NewMember } from './new-member';
import { membersQuery } from './queries';

export function MembersPage() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId/members' });
  const query = useInfiniteQuery(membersQuery(workspaceId));
  const canChange = useCan(workspaceId, 'administer');
  const roles = useGrantableRoles(workspaceId);
  const [isNew, { open, close }] = useDisclosure();
  const columns = ['Member', 'Role', 'Since', ...(canChange ? ['Membership'] : [])];
  return (
    <Page title="Members" aside={canChange && <Button onClick={open}>Add a member</Button>}>
      <Loaded query={query}>
        {({ pages }) => (
          <Rows label="Members" columns={columns}>
            {pages
              .flatMap(({ members }) => members)
              .map((member) => (
                <MemberRow
                  key={member.id}
                  workspaceId={workspaceId}
                  member={member}
                  roles={canChange ? roles : undefined}
                />
              ))}
          </Rows>
        )}
      </Loaded>
      <More query={query} />
      <Detail title={isNew ? 'Add a member' : undefined} onClose={close}>
        <NewMember workspaceId={workspaceId} roles={roles} onAdded={close} />
      </Detail>
    </Page>
  );
}

/** Only an owner may grant or revoke the role owner. */
function useGrantableRoles(workspaceId: string): Role[] {
  const { data: own } = useQuery(memberQuery(workspaceId));
  return rolesWith('belong').filter((role) => role !== 'owner' || own?.role === 'owner');
}

interface RowProps {
  workspaceId: string;
  member: WorkspaceMember;
  /** Roles that the reader may grant; absent for one who may not change members. */
  roles?: Role[];
}

function MemberRow({ workspaceId, member: { id, email, displayName, role, createdAt }, roles }: RowProps) {
  const queries = useQueryClient();
  const { data: own } = useQuery(memberQuery(workspaceId));
  const client = () => clientOf({ workspaceId });
  // The role of the reader may be the one that has changed.
  const ended = { onSettled: () => queries.invalidateQueries({ queryKey: [workspaceId] }) };
  const change = useMutation({
    mutationFn: (next: Role) => client().updateWorkspaceMember({ id, role: next }),
    ...ended,
  });
  const removal = useMutation({ mutationFn: () => client().deleteWorkspaceMember({ id }), ...ended });
  const canChange = roles?.includes(role) ?? false;
  const isOwn = own?.id === id;
  const name = displayName || email;
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm">{name}</Text>
        {displayName && (
          <Text size="sm" c="dimmed">
            {email}
          </Text>
        )}
        {isOwn && (
          <Text size="sm" c="dimmed">
            you
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        {canChange ? (
          <NativeSelect
            aria-label={`Role of ${name}`}
            data={roles}
            value={change.isPending ? change.variables : role}
            disabled={change.isPending}
            onChange={(event) => {
              const next = event.currentTarget.value as Role;
              if (!isOwn || window.confirm(`Change your own role to ${next}?`)) change.mutate(next);
            }}
          />
        ) : (
          role
        )}
        <Stack gap={0} mt={change.isError || removal.isError ? 'xs' : 0}>
          {change.isError && <Failure error={change.error} />}
          {removal.isError && <Failure error={removal.error} />}
        </Stack>
      </Table.Td>
      <Table.Td>
        <Time at={createdAt} />
      </Table.Td>
      {roles && (
        <Table.Td>
          {canChange && (
            <Button
              color="red"
              variant="light"
              size="compact-sm"
              aria-label={`Remove ${name}`}
              loading={removal.isPending}
              onClick={() => {
                if (window.confirm(`Remove ${name} from this workspace?`)) removal.mutate();
              }}
            >
              Remove
            </Button>
          )}
        </Table.Td>
      )}
    </Table.Tr>
  );
}
