import { Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { DayChart } from '../parts/day-chart';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { Budget } from './budget';
import { Calls } from './calls';
import { Contents } from './contents';
import { costText, countText, daysQuery } from './queries';

const columns = ['Day (UTC)', 'Calls', 'Errors', 'Tokens of prompts', 'Tokens of answers', 'Latency, mean', 'Cost'];

export function BotModelsPage() {
  const params = useParams({ from: '/w/$workspaceId/bots/$botId/models' });
  const query = useQuery(daysQuery(params.workspaceId, params.botId));
  return (
    <Page title="Models">
      <Budget params={params} />
      <Section title="Use by day">
        <Loaded query={query}>
          {(days) => {
            const used = days.filter(({ calls }) => calls > 0);
            if (used.length === 0)
              return <Empty title="No calls">This bot called no language model in the last 30 days.</Empty>;
            const tokens = days.map(({ date, inputTokens, outputTokens }) => ({
              date,
              value: inputTokens + outputTokens,
            }));
            return (
              <>
                <DayChart label="Tokens by day" days={tokens.reverse()} />
                <Rows label="Use by day" columns={columns}>
                  {used.map(({ date, calls, errors, inputTokens, outputTokens, latency, cost }) => (
                    <Table.Tr key={date}>
                      <Table.Td>{date}</Table.Td>
                      <Table.Td>{countText(calls)}</Table.Td>
                      <Table.Td>{countText(errors)}</Table.Td>
                      <Table.Td>{countText(inputTokens)}</Table.Td>
                      <Table.Td>{countText(outputTokens)}</Table.Td>
                      <Table.Td>{countText(Math.round(latency.mean))} ms</Table.Td>
                      <Table.Td>{costText(cost.sum)}</Table.Td>
                    </Table.Tr>
                  ))}
                </Rows>
              </>
            );
          }}
        </Loaded>
      </Section>
      <Contents workspaceId={params.workspaceId} botId={params.botId} />
      <Calls botId={params.botId} />
    </Page>
  );
}
