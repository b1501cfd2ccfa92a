import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useSession } from '../api/session';
import { Empty } from '../parts/empty';
import { Failure } from '../parts/failure';
import { Page } from '../parts/page';
import { HomePage } from './home-page';
import { Shell } from './shell';
import { SignInPage } from './sign-in-page';

interface ListSearch {
  [filter: string]: string | undefined;
}

/** Filters are strings in the address, so that a filtered list can be linked. */
function textSearch(search: Record<string, unknown>): ListSearch {
  return Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

const rootRoute = createRootRoute({
  component: Outlet,
  errorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
  notFoundComponent: () => (
    <Page title="Not found">
      <Empty title="This page does not exist">Choose another one from the menu.</Empty>
    </Page>
  ),
});

const homeRoute = createRoute({ getParentRoute: () => rootRoute, path: '/', component: HomePage });

const workspaceRoute = createRoute({ getParentRoute: () => rootRoute, path: '/w/$workspaceId', component: Shell });

const overviewRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/',
  component: lazyRouteComponent(() => import('../overview/overview-page'), 'OverviewPage'),
});

const botsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots',
  component: lazyRouteComponent(() => import('../bots/bots-page'), 'BotsPage'),
});

const botRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId',
  component: lazyRouteComponent(() => import('../bots/bot-page'), 'BotPage'),
});

const operatorRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/operator',
  validateSearch: textSearch,
  component: lazyRouteComponent(() => import('../operator/operator-page'), 'OperatorPage'),
});

const conversationsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/conversations',
  validateSearch: textSearch,
  component: lazyRouteComponent(() => import('../conversations/conversations-page'), 'ConversationsPage'),
});

const conversationRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/conversations/$conversationId',
  component: lazyRouteComponent(() => import('../conversations/conversation-page'), 'ConversationPage'),
});

const eventsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/events',
  validateSearch: textSearch,
  component: lazyRouteComponent(() => import('../events/events-page'), 'EventsPage'),
});

const workflowsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/workflows',
  validateSearch: textSearch,
  component: lazyRouteComponent(() => import('../workflows/workflows-page'), 'WorkflowsPage'),
});

const webchatRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/webchat',
  component: lazyRouteComponent(() => import('../webchat/webchat-page'), 'WebchatPage'),
});

const talkRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/talk',
  component: lazyRouteComponent(() => import('../webchat/talk-page'), 'TalkPage'),
});

const logsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/logs',
  validateSearch: textSearch,
  component: lazyRouteComponent(() => import('../logs/logs-page'), 'LogsPage'),
});

const issuesRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/issues',
  component: lazyRouteComponent(() => import('../issues/issues-page'), 'IssuesPage'),
});

const botModelsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/models',
  component: lazyRouteComponent(() => import('../model-use/bot-models-page'), 'BotModelsPage'),
});

const filesRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/files',
  component: lazyRouteComponent(() => import('../files/files-page'), 'FilesPage'),
});

const fileRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/files/$fileId',
  component: lazyRouteComponent(() => import('../files/file-page'), 'FilePage'),
});

const tablesRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/tables',
  component: lazyRouteComponent(() => import('../tables/tables-page'), 'TablesPage'),
});

const tableRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/bots/$botId/tables/$tableId',
  validateSearch: textSearch,
  component: lazyRouteComponent(() => import('../tables/table-page'), 'TablePage'),
});

const hubRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/hub',
  validateSearch: textSearch,
  component: lazyRouteComponent(() => import('../hub/hub-page'), 'HubPage'),
});

const publicationRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/hub/$kind/$source/$id',
  component: lazyRouteComponent(() => import('../hub/publication-page'), 'PublicationPage'),
});

const membersRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/members',
  component: lazyRouteComponent(() => import('../workspace/members-page'), 'MembersPage'),
});

const workspaceModelsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/models',
  component: lazyRouteComponent(() => import('../model-use/workspace-models-page'), 'WorkspaceModelsPage'),
});

const tokensRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/tokens',
  component: lazyRouteComponent(() => import('../workspace/tokens-page'), 'TokensPage'),
});

const auditRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/audit',
  validateSearch: textSearch,
  component: lazyRouteComponent(() => import('../workspace/audit-page'), 'AuditPage'),
});

const routeTree = rootRoute.addChildren([
  homeRoute,
  workspaceRoute.addChildren([
    overviewRoute,
    botsRoute,
    botRoute,
    operatorRoute,
    conversationsRoute,
    conversationRoute,
    eventsRoute,
    workflowsRoute,
    webchatRoute,
    talkRoute,
    logsRoute,
    issuesRoute,
    botModelsRoute,
    filesRoute,
    fileRoute,
    tablesRoute,
    tableRoute,
    hubRoute,
    publicationRoute,
    membersRoute,
    workspaceModelsRoute,
    tokensRoute,
    auditRoute,
  ]),
]);

/** @param code single-use code of the link with which the console was opened */
export function createAppRouter(code?: string) {
  return createRouter({
    routeTree,
    basepath: '/console',
    defaultPreload: 'intent',
    InnerWrap: ({ children }: { children: ReactNode }) =>
      useSession().session ? <>{children}</> : <SignInPage code={code} />,
    defaultErrorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
