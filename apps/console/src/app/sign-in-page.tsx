import { Button, Center, Checkbox, Code, Loader, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { Client } from '@botpress/client';
import { redeem, type Session, signIn } from '../api/session';
import { Failure } from '../parts/failure';
import { queryClient } from './query-client';

/** Codes are used once: this page appears again when the person signs out. */
const redeemed = new Set<string>();

/** @param code single-use code of the link with which the console was opened */
export function SignInPage({ code }: { code?: string }) {
  const [token, setToken] = useState('');
  const [isKept, setKept] = useState(false);
  const linked = useMutation({
    mutationFn: redeem,
    onSuccess: (session) => enter(session, false),
  });
  const pasted = useMutation({
    mutationFn: (value: string) => new Client({ apiUrl: location.origin, token: value }).getAccount({}),
    onSuccess: (_account, value) => enter({ token: value }, isKept),
  });
  const { mutate: useLink } = linked;

  useEffect(() => {
    document.title = 'Sign in · Parley console';
    if (code === undefined || redeemed.has(code)) return;
    redeemed.add(code);
    useLink(code);
  }, [code, useLink]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    pasted.mutate(token.trim());
  };
  if (linked.isPending || linked.isSuccess) {
    return (
      <Center mih="100dvh">
        <Loader aria-label="Signing in" />
      </Center>
    );
  }
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper withBorder p="xl" w="100%" maw={460}>
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h2">
              Sign in
            </Title>
            {linked.isError && <Failure error={linked.error} />}
            <Text size="sm" component="div">
              Open the link that <Code>npm start</Code> prints, or print a new one:
              <Code block mt="xs">
                npm run parley -- console link
              </Code>
            </Text>
            <PasswordInput
              label="Personal access token"
              description="Instead of a link"
              placeholder="bp_pat_…"
              autoComplete="off"
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              required
            />
            <Checkbox
              label="Keep me signed in in this tab"
              checked={isKept}
              onChange={(event) => setKept(event.currentTarget.checked)}
            />
            {pasted.isError && <Failure error={pasted.error} />}
            <Button type="submit" loading={pasted.isPending}>
              Sign in
            </Button>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}

/** Nothing that another person has loaded stays. */
function enter(session: Session, isKept: boolean): void {
  queryClient.clear();
  signIn(session, isKept);
}
