import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { PageLink } from '../parts/page-link';
import { Passage } from './passage';
import { searchQuery } from './queries';

const limit = 20;

/** Search as a bot does it, with the score and rank of each passage. */
export function Search(bot: { workspaceId: string; botId: string }) {
  const [query, setQuery] = useState('');
  const [withContext, setWithContext] = useState(false);
  const found = useQuery(searchQuery(bot.botId, { query, withContext, limit }));
  const search = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const value = new FormData(event.currentTarget).get('query');
    if (typeof value === 'string') setQuery(value.trim());
  };
  return (
    <Stack>
      <form onSubmit={search}>
        <Group align="end">
          <TextInput name="query" label="Question or words" flex={1} miw={240} required />
          <Button type="submit" loading={found.isFetching}>
            Search
          </Button>
        </Group>
        <Checkbox
          mt="sm"
          label="With the passages before and after"
          checked={withContext}
          onChange={(event) => setWithContext(event.currentTarget.checked)}
        />
      </form>
      {query !== '' && (
        <Loaded query={found}>
          {({ passages, isCalibrated, leastScore }) =>
            passages.length === 0 ? (
              <Empty title="Nothing found">Only indexed files are searched. Try other words.</Empty>
            ) : (
              <>
                <Text size="sm" c="dimmed">
                  {isCalibrated
                    ? `A score is from 0 to 1, which is the passage itself. Nonsense hardly reaches ${leastScore}.`
                    : 'Not calibrated: the scores of this embedding model order passages, but do not say whether one answers. A least score counts words only.'}
                </Text>
                {passages.map(({ content, meta, score, file }, index) => (
                  <Passage
                    key={`${file.id} ${meta.position ?? index} ${index}`}
                    content={content}
                    meta={meta}
                    aside={
                      <Group gap="md">
                        <PageLink to="/w/$workspaceId/bots/$botId/files/$fileId" params={{ ...bot, fileId: file.id }}>
                          {file.key}
                        </PageLink>
                        <Text size="sm">
                          Rank {index + 1}, score {score.toFixed(3)}
                          {leastScore !== undefined && score < leastScore && ', hardly relevant'}
                        </Text>
                      </Group>
                    }
                  />
                ))}
              </>
            )
          }
        </Loaded>
      )}
    </Stack>
  );
}
