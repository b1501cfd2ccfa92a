import { Box, Code, Table, Text } from '@mantine/core';
import { PageLink } from '../parts/page-link';
import { Rows } from '../parts/rows';
import { Status } from '../parts/status';
import { Time } from '../parts/time';
import type { ShownLine } from './queries';

interface Props {
  workspaceId: string;
  botId: string;
  lines: ShownLine[];
}

export function LogLines({ lines, ...bot }: Props) {
  return (
    <Rows label="Log lines" columns={['Time', 'Level', 'Message', 'Conversation']}>
      {lines.map((line, index) => (
        <Table.Tr style={{ verticalAlign: 'top' }} key={`${line.timestamp} ${lines.length - index}`}>
          <Table.Td style={{ whiteSpace: 'nowrap' }}>
            <Time at={line.timestamp} />
          </Table.Td>
          <Table.Td>
            <Box miw={72}>
              <Status value={line.level} />
            </Box>
          </Table.Td>
          <Table.Td>
            <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
              {line.message}
            </Code>
            {line.traceId && (
              <Text size="xs" c="dimmed" mt={4}>
                Trace {line.traceId}
              </Text>
            )}
          </Table.Td>
          <Table.Td>
            {line.conversationId && (
              <PageLink
                to="/w/$workspaceId/bots/$botId/conversations/$conversationId"
                params={{ ...bot, conversationId: line.conversationId }}
              >
                Show
              </PageLink>
            )}
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}
