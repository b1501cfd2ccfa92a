import { useQuery } from '@tanstack/react-query';
import type { ContentSettings } from '@parley/contracts/models/contents';
import { request } from '../api/request';
import { useCan } from '../api/role';
import { ActionButton, ConfirmButton } from '../parts/change-buttons';
import { Facts } from '../parts/facts';
import { Loaded } from '../parts/loaded';
import { Section } from '../parts/section';
import { contentsKey, contentsPath, contentsQuery } from './queries';

interface ContentsProps {
  workspaceId: string;
  botId: string;
}

/** Whether prompts and answers of a bot are kept. */
export function Contents({ workspaceId, botId }: ContentsProps) {
  const query = useQuery(contentsQuery(botId));
  const canChange = useCan(workspaceId, 'administer');
  return (
    <Section title="Prompts and answers" aside={canChange && query.data && <Change botId={botId} {...query.data} />}>
      <Loaded query={query}>
        {({ kept, days }) => (
          <Facts
            label="Prompts and answers"
            facts={[['Kept', kept ? `yes, encrypted, for ${days} days` : 'no: only figures of each call']]}
          />
        )}
      </Loaded>
    </Section>
  );
}

function Change({ botId, kept, days }: { botId: string } & ContentSettings) {
  const set = (wanted: boolean) => () => request({ method: 'PUT', botId, path: contentsPath, body: { kept: wanted } });
  if (!kept) return <ActionButton label={`Keep for ${days} days`} changes={contentsKey(botId)} run={set(true)} />;
  return (
    <ConfirmButton
      label="Keep no more"
      question="Delete prompts and answers?"
      confirmLabel="Delete"
      changes={contentsKey(botId)}
      run={set(false)}
    >
      The kept prompts and answers of this bot are deleted, and none are kept from now on.
    </ConfirmButton>
  );
}
