import { Group, Select, Switch, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Empty } from '../parts/empty';
import { Failure } from '../parts/failure';
import { FilterInput } from '../parts/filter-input';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { More } from '../parts/rows';
import { followLogs } from './follow-logs';
import { LogLines } from './log-lines';
import { logLevels, logsQuery, periods, type ShownLine } from './queries';

const route = '/w/$workspaceId/bots/$botId/logs';
/** Newest lines that the live list keeps. */
const maxLiveLines = 1_000;
const reconnectMs = 2_000;

export function LogsPage() {
  const bot = useParams({ from: route });
  const [isLive, setIsLive] = useState(false);
  return (
    <Page
      title="Logs"
      aside={<Switch label="Live" checked={isLive} onChange={(event) => setIsLive(event.currentTarget.checked)} />}
    >
      {isLive ? <LiveLines key={bot.botId} {...bot} /> : <StoredLines {...bot} />}
    </Page>
  );
}

function StoredLines({ workspaceId, botId }: { workspaceId: string; botId: string }) {
  const { level, conversationId, messageContains, hours } = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const period = periods.find((known) => String(known.hours) === hours) ?? periods[1]!;
  const query = useInfiniteQuery(
    logsQuery(workspaceId, botId, period.hours, { level, conversationId, messageContains }),
  );
  const change = (next: Record<string, string | undefined>) =>
    void navigate({ search: (former) => ({ ...former, ...next }), replace: true });
  return (
    <>
      <Group align="end">
        <Select
          label="Period"
          allowDeselect={false}
          data={periods.map((known) => ({ value: String(known.hours), label: known.label }))}
          value={String(period.hours)}
          onChange={(value) => change({ hours: value ?? undefined })}
        />
        <Select
          label="Level"
          placeholder="Any"
          clearable
          data={[...logLevels]}
          value={level ?? null}
          onChange={(value) => change({ level: value ?? undefined })}
        />
        <FilterInput
          label="Message contains"
          value={messageContains}
          onApply={(text) => change({ messageContains: text })}
        />
        <FilterInput
          label="Id of a conversation"
          value={conversationId}
          onApply={(text) => change({ conversationId: text })}
        />
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const lines = pages.flatMap((page) => page.logs);
          return lines.length === 0 ? (
            <Empty title="No log lines">
              Code of the bot that prints something shows it here. Try a longer period, or empty a filter.
            </Empty>
          ) : (
            <LogLines workspaceId={workspaceId} botId={botId} lines={lines} />
          );
        }}
      </Loaded>
      <More query={query} />
    </>
  );
}

function LiveLines(bot: { workspaceId: string; botId: string }) {
  const { workspaceId, botId } = bot;
  const [lines, setLines] = useState<ShownLine[]>([]);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const ending = new AbortController();
    let timer: number | undefined;
    const add = (line: ShownLine) => setLines((former) => [line, ...former].slice(0, maxLiveLines));
    const follow = async (): Promise<void> => {
      try {
        await followLogs({ workspaceId, botId }, add, ending.signal);
        setError(undefined);
      } catch (failure) {
        if (ending.signal.aborted) return;
        setError(failure);
      }
      // The server ends streams when it stops.
      if (!ending.signal.aborted) timer = window.setTimeout(() => void follow(), reconnectMs);
    };
    void follow();
    return () => {
      ending.abort();
      window.clearTimeout(timer);
    };
  }, [workspaceId, botId]);
  return (
    <>
      {error !== undefined && <Failure error={error} />}
      <Text c="dimmed" role="status">
        {lines.length === 0
          ? 'Waiting for the next line of the bot …'
          : `${lines.length} lines since the page went live`}
      </Text>
      {lines.length > 0 && <LogLines {...bot} lines={lines} />}
    </>
  );
}
