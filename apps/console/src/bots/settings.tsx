import { Code, Group, JsonInput, Textarea, TextInput } from '@mantine/core';
import type { Bot } from '@botpress/client';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { clientOf } from '../api/client';
import { botsQuery } from '../api/queries';
import { useCan } from '../api/role';
import { ConfirmButton, FormButton } from '../parts/change-buttons';
import { Facts } from '../parts/facts';
import { textIn } from '../parts/form-text';
import { Json } from '../parts/json';
import { type ObjectSchema, SchemaFields, valueIn } from '../parts/schema-fields';
import { Section } from '../parts/section';
import { Time } from '../parts/time';
import { botKey, type BotParams } from './queries';
import { linesOf, tagChanges, tagsIn } from './tag-lines';

interface Props {
  params: BotParams;
  bot: Bot;
}

export function Settings({ params, bot }: Props) {
  const canWrite = useCan(params.workspaceId, 'write');
  const canManage = useCan(params.workspaceId, 'manage');
  const facts: [string, ReactNode][] = [
    ['Id', <Code key="id">{bot.id}</Code>],
    ['Description', bot.description ?? '–'],
    ['Created', <Time key="created" at={bot.createdAt} />],
    ['Changed', <Time key="changed" at={bot.updatedAt} />],
    ...Object.entries(bot.tags).map(([name, value]): [string, ReactNode] => [`Tag ${name}`, value]),
  ];
  return (
    <>
      <Section
        title="Settings"
        aside={
          <Group gap="xs">
            {canWrite && <Edit params={params} bot={bot} />}
            {canManage && <Deletion params={params} bot={bot} />}
          </Group>
        }
      >
        <Facts label="Settings" facts={facts} />
      </Section>
      <Section title="Configuration" aside={canWrite && <Configure params={params} bot={bot} />}>
        <Json label="Configuration" value={bot.configuration.data} />
      </Section>
    </>
  );
}

function Edit({ params, bot }: Props) {
  const save = (values: FormData) =>
    clientOf(params).updateBot({
      id: bot.id,
      name: textIn(values, 'name'),
      description: textIn(values, 'description'),
      tags: tagChanges(bot.tags, tagsIn(textIn(values, 'tags'))),
    });
  return (
    <FormButton
      label="Edit"
      aria-label="Edit the settings"
      title="Settings"
      submitLabel="Save"
      changes={[params.workspaceId, 'bots']}
      submit={save}
    >
      <TextInput name="name" label="Name" defaultValue={bot.name} maxLength={200} autoComplete="off" required />
      <Textarea name="description" label="Description" defaultValue={bot.description} maxLength={2000} rows={2} />
      <Textarea
        name="tags"
        label="Tags"
        description="One a line: name=value"
        defaultValue={linesOf(bot.tags)}
        rows={2}
      />
    </FormButton>
  );
}

function Configure({ params, bot }: Props) {
  const schema = bot.configuration.schema as ObjectSchema;
  const hasFields = Object.keys(schema.properties ?? {}).length > 0;
  const save = (values: FormData) => {
    const data = hasFields ? valueIn(schema, values) : (JSON.parse(textIn(values, 'data') || '{}') as object);
    return clientOf(params).updateBot({ id: bot.id, configuration: { data } });
  };
  return (
    <FormButton
      label="Edit"
      aria-label="Edit the configuration"
      title="Configuration"
      submitLabel="Save"
      changes={botKey(params)}
      submit={async (values) => save(values)}
    >
      {hasFields ? (
        <SchemaFields schema={schema} value={bot.configuration.data} />
      ) : (
        <JsonInput
          name="data"
          label="Configuration"
          description="The bot declares no fields, so this is JSON."
          defaultValue={JSON.stringify(bot.configuration.data, null, 2)}
          rows={4}
        />
      )}
    </FormButton>
  );
}

function Deletion({ params, bot }: Props) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { workspaceId } = params;
  const remove = async () => {
    await clientOf(params).deleteBot({ id: bot.id });
    await navigate({ to: '/w/$workspaceId/bots', params: { workspaceId } });
    queries.removeQueries({ queryKey: botKey(params) });
  };
  return (
    <ConfirmButton
      label="Delete"
      aria-label="Delete the bot"
      question={`Delete "${bot.name}"?`}
      confirmLabel="Delete the bot"
      typed={bot.name}
      changes={botsQuery(workspaceId).queryKey}
      run={remove}
    >
      Its conversations, files, tables, keys and integrations are deleted too. This cannot be undone.
    </ConfirmButton>
  );
}
