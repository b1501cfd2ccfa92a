import { Center } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { workspacesQuery } from '../api/queries';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';

/** Leads to the first workspace. */
export function HomePage() {
  const query = useQuery(workspacesQuery);
  return (
    <Center component="main" mih="100dvh" p="md">
      <Loaded query={query}>
        {([first]) =>
          first ? (
            <Navigate to="/w/$workspaceId" params={{ workspaceId: first.id }} replace />
          ) : (
            <Empty title="You are not a member of a workspace">Ask its owner to add you.</Empty>
          )
        }
      </Loaded>
    </Center>
  );
}
