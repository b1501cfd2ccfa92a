import {
  AppShell,
  Burger,
  Button,
  Group,
  Menu,
  NavLink,
  type NavLinkProps,
  Select,
  Text,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { createLink, Outlet, useNavigate, useParams } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, ReactNode } from 'react';
import { signOut } from '../api/client';
import { accountQuery, botsQuery, memberQuery, operatorQuery, workspacesQuery } from '../api/queries';
import { useCan } from '../api/role';
import { keepSession, useSession } from '../api/session';
import { queryClient } from './query-client';

type MenuLinkProps = NavLinkProps & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof NavLinkProps>;

const MenuLink = createLink((props: MenuLinkProps) => <NavLink {...props} />);

/** Header with the switchers of workspace and bot, menu of pages, and the page. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure();
  const { workspaceId = '', botId } = useParams({ strict: false });
  const { data: isOperator } = useQuery(operatorQuery);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 240, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group wrap="nowrap" gap="sm">
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />
            <Text fw={700}>Parley</Text>
          </Group>
          <AccountMenu />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="md" aria-label="Pages" style={{ overflowY: 'auto' }}>
        <Switchers key={workspaceId} workspaceId={workspaceId} botId={botId} />
        <Section>
          <MenuLink
            to="/w/$workspaceId"
            params={{ workspaceId }}
            activeOptions={{ exact: true }}
            label="Overview"
            onClick={close}
          />
          <MenuLink
            to="/w/$workspaceId/bots"
            params={{ workspaceId }}
            activeOptions={{ exact: true }}
            label="Bots"
            onClick={close}
          />
          {isOperator && (
            <MenuLink to="/w/$workspaceId/operator" params={{ workspaceId }} label="Operator" onClick={close} />
          )}
        </Section>
        {botId !== undefined && <BotLinks workspaceId={workspaceId} botId={botId} onClick={close} />}
        <WorkspaceLinks workspaceId={workspaceId} onClick={close} />
      </AppShell.Navbar>
      <AppShell.Main>
        <Outlet />
      </AppShell.Main>
    </AppShell>
  );
}

/** Pages of a bot. A new page of a bot gets its link here. */
function BotLinks({ onClick, ...params }: { workspaceId: string; botId: string; onClick: () => void }) {
  return (
    <Section title="Bot">
      <MenuLink
        to="/w/$workspaceId/bots/$botId"
        params={params}
        activeOptions={{ exact: true }}
        label="Settings"
        onClick={onClick}
      />
      <MenuLink
        to="/w/$workspaceId/bots/$botId/conversations"
        params={params}
        label="Conversations"
        onClick={onClick}
      />
      <MenuLink to="/w/$workspaceId/bots/$botId/events" params={params} label="Events" onClick={onClick} />
      <MenuLink to="/w/$workspaceId/bots/$botId/workflows" params={params} label="Workflows" onClick={onClick} />
      <MenuLink to="/w/$workspaceId/bots/$botId/files" params={params} label="Files" onClick={onClick} />
      <MenuLink to="/w/$workspaceId/bots/$botId/tables" params={params} label="Tables" onClick={onClick} />
      <MenuLink to="/w/$workspaceId/bots/$botId/logs" params={params} label="Logs" onClick={onClick} />
      <MenuLink to="/w/$workspaceId/bots/$botId/issues" params={params} label="Issues" onClick={onClick} />
      <MenuLink to="/w/$workspaceId/bots/$botId/models" params={params} label="Models" onClick={onClick} />
      <MenuLink to="/w/$workspaceId/bots/$botId/webchat" params={params} label="Web chat" onClick={onClick} />
      <MenuLink to="/w/$workspaceId/bots/$botId/talk" params={params} label="Talk to the bot" onClick={onClick} />
    </Section>
  );
}

/** Pages of the workspace and the account. The audit log is for administrators. */
function WorkspaceLinks({ onClick, workspaceId }: { workspaceId: string; onClick: () => void }) {
  const params = { workspaceId };
  const canRead = useCan(workspaceId, 'read');
  const canAdminister = useCan(workspaceId, 'administer');
  return (
    <Section title="Workspace">
      <MenuLink to="/w/$workspaceId/hub" params={params} label="Hub" onClick={onClick} />
      {canRead && <MenuLink to="/w/$workspaceId/members" params={params} label="Members" onClick={onClick} />}
      <MenuLink to="/w/$workspaceId/models" params={params} label="Usage of models" onClick={onClick} />
      {canAdminister && <MenuLink to="/w/$workspaceId/audit" params={params} label="Audit log" onClick={onClick} />}
      <MenuLink to="/w/$workspaceId/tokens" params={params} label="Tokens" onClick={onClick} />
    </Section>
  );
}

function Section({ title, children }: { title?: string; children: ReactNode }) {
  return (
    <AppShell.Section mt="md">
      {title && (
        <Text size="xs" fw={600} c="dimmed" px="sm" pb={4}>
          {title}
        </Text>
      )}
      {children}
    </AppShell.Section>
  );
}

function Switchers({ workspaceId, botId }: { workspaceId: string; botId?: string }) {
  const navigate = useNavigate();
  const { data: workspaces = [] } = useQuery(workspacesQuery);
  const { data: bots = [] } = useQuery(botsQuery(workspaceId));
  return (
    <AppShell.Section>
      <Select
        label="Workspace"
        data={workspaces.map(({ id, name }) => ({ value: id, label: name }))}
        value={workspaceId}
        allowDeselect={false}
        searchable={workspaces.length > 8}
        onChange={(id) => id && void navigate({ to: '/w/$workspaceId', params: { workspaceId: id } })}
      />
      <Select
        mt="sm"
        label="Bot"
        placeholder={bots.length > 0 ? 'Choose a bot' : 'No bots yet'}
        data={bots.map(({ id, name }) => ({ value: id, label: name || id }))}
        value={botId ?? null}
        allowDeselect={false}
        searchable={bots.length > 8}
        onChange={(id) =>
          id && void navigate({ to: '/w/$workspaceId/bots/$botId', params: { workspaceId, botId: id } })
        }
      />
    </AppShell.Section>
  );
}

function AccountMenu() {
  const { workspaceId = '' } = useParams({ strict: false });
  const { session, isKept } = useSession();
  const { data: account } = useQuery(accountQuery);
  const { data: member } = useQuery(memberQuery(workspaceId));
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const leave = async () => {
    const leaving = session && signOut(session);
    queryClient.clear();
    await leaving;
  };
  return (
    <Menu position="bottom-end" closeOnItemClick={false}>
      <Menu.Target>
        <Button variant="default" size="xs" maw={220}>
          <Text size="sm" truncate>
            {account?.email ?? 'Account'}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {member && <Menu.Label>Role: {member.role}</Menu.Label>}
        <Menu.RadioGroup value={colorScheme} onChange={(value) => setColorScheme(value as typeof colorScheme)}>
          <Menu.RadioItem value="auto">Colours of the system</Menu.RadioItem>
          <Menu.RadioItem value="light">Light</Menu.RadioItem>
          <Menu.RadioItem value="dark">Dark</Menu.RadioItem>
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.CheckboxItem checked={isKept} onChange={keepSession}>
          Keep me signed in in this tab
        </Menu.CheckboxItem>
        <Menu.Item onClick={() => void leave()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
