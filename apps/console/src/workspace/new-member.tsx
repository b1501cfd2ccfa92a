import { Button, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Role } from '@parley/contracts/caller';
import { clientOf } from '../api/client';
import { Failure } from '../parts/failure';
import { membersKey } from './queries';

interface Props {
  workspaceId: string;
  roles: Role[];
  onAdded: () => void;
}

export function NewMember({ workspaceId, roles, onAdded }: Props) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('developer');
  const queries = useQueryClient();
  const addition = useMutation({
    mutationFn: () => clientOf({ workspaceId }).createWorkspaceMember({ email, role }),
    onSuccess: () => {
      onAdded();
      return queries.invalidateQueries({ queryKey: membersKey(workspaceId) });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    addition.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          type="email"
          label="E-mail address"
          description="The account must exist: the operator creates it with the command account create."
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          required
          data-autofocus
        />
        <NativeSelect
          label="Role"
          data={roles}
          value={role}
          onChange={(event) => setRole(event.currentTarget.value as Role)}
        />
        {addition.isError && <Failure error={addition.error} />}
        <Group justify="end">
          <Button type="submit" loading={addition.isPending}>
            Add
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
