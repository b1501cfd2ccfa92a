import { Alert, Button, Code, CopyButton, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { clientOf } from '../api/client';
import { forgetSession, useSession } from '../api/session';
import { Empty } from '../parts/empty';
import { Failure } from '../parts/failure';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { Rows } from '../parts/rows';
import { Time } from '../parts/time';
import { tokensQuery } from './queries';

type Token = NonNullable<Awaited<ReturnType<NonNullable<typeof tokensQuery.queryFn>>>>[number];

/** Personal access tokens of the signed-in account, whatever the workspace. */
export function TokensPage() {
  const query = useQuery(tokensQuery);
  return (
    <Page title="Tokens">
      <Text c="dimmed">
        A personal access token signs you in to the API, with your rights in all your workspaces. Programs of a bot use
        an API key of the bot instead.
      </Text>
      <NewToken />
      <Loaded query={query}>
        {(tokens) =>
          tokens.length === 0 ? (
            <Empty title="No tokens">Create one for each program that uses the API.</Empty>
          ) : (
            <Rows label="Tokens" columns={['Note', 'Id', 'Created', 'Token']}>
              {tokens.map((token) => (
                <TokenRow key={token.id} token={token} />
              ))}
            </Rows>
          )
        }
      </Loaded>
    </Page>
  );
}

function NewToken() {
  const [note, setNote] = useState('');
  const queries = useQueryClient();
  const creation = useMutation({
    mutationFn: async () => (await clientOf().createPersonalAccessToken({ note })).pat,
    onSuccess: () => {
      setNote('');
      return queries.invalidateQueries({ queryKey: tokensQuery.queryKey });
    },
    // The value is shown once: it does not stay in the memory of the page.
    gcTime: 0,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate();
  };
  return (
    <Stack>
      <form onSubmit={submit}>
        <Group align="end">
          <TextInput
            label="Note"
            description="Purpose, such as: nightly export"
            value={note}
            onChange={(event) => setNote(event.currentTarget.value)}
            required
            maxLength={200}
            miw={240}
          />
          <Button type="submit" loading={creation.isPending}>
            Create a token
          </Button>
        </Group>
      </form>
      {creation.isError && <Failure error={creation.error} />}
      {creation.data && (
        <Alert color="blue" title="Copy the token now: it is not shown again" role="status">
          <Group>
            <Code>{creation.data.value}</Code>
            <CopyButton value={creation.data.value}>
              {({ copied, copy }) => (
                <Button size="compact-sm" variant="default" onClick={copy}>
                  {copied ? 'Copied' : 'Copy'}
                </Button>
              )}
            </CopyButton>
            <Button size="compact-sm" variant="default" onClick={() => creation.reset()}>
              Hide
            </Button>
          </Group>
        </Alert>
      )}
    </Stack>
  );
}

function TokenRow({ token: { id, note, createdAt } }: { token: Token }) {
  const queries = useQueryClient();
  const { session } = useSession();
  const isOwn = session?.tokenId === id;
  const revocation = useMutation({
    mutationFn: () => clientOf().deletePersonalAccessToken({ id }),
    onSuccess: () => {
      if (isOwn) {
        forgetSession();
        return queries.clear();
      }
      return queries.invalidateQueries({ queryKey: tokensQuery.queryKey });
    },
  });
  const question = isOwn
    ? 'Revoke the token of this page? You are signed out.'
    : `Revoke the token "${note || id}"? Programs that use it are refused at once.`;
  return (
    <Table.Tr>
      <Table.Td>
        {note || '–'}
        {isOwn && ' (this page)'}
      </Table.Td>
      <Table.Td>
        <Code>{id}</Code>
      </Table.Td>
      <Table.Td>
        <Time at={createdAt} />
      </Table.Td>
      <Table.Td>
        {revocation.isError && <Failure error={revocation.error} />}
        <Button
          color="red"
          variant="light"
          size="compact-sm"
          aria-label={`Revoke ${note || id}`}
          loading={revocation.isPending}
          onClick={() => {
            if (window.confirm(question)) revocation.mutate();
          }}
        >
          Revoke
        </Button>
      </Table.Td>
    </Table.Tr>
  );
}
