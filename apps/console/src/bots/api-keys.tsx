import { Code, Table, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { clientOf } from '../api/client';
import { ConfirmButton, FormButton } from '../parts/change-buttons';
import { Empty } from '../parts/empty';
import { textIn } from '../parts/form-text';
import { Loaded } from '../parts/loaded';
import { Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { ShownOnce } from '../parts/shown-once';
import { Time } from '../parts/time';
import { apiKeysQuery, type BotParams } from './queries';

/** For roles that may manage keys. */
export function ApiKeys({ params }: { params: BotParams }) {
  const options = apiKeysQuery(params);
  const query = useQuery(options);
  const [created, setCreated] = useState<string>();
  const create = async (values: FormData) => {
    const note = textIn(values, 'note');
    const { value } = await clientOf(params).createBotApiKey({ botId: params.botId, note });
    setCreated(value);
  };
  return (
    <Section
      title="API keys"
      aside={
        <FormButton
          label="Create an API key"
          title="Create an API key"
          submitLabel="Create"
          changes={options.queryKey}
          submit={create}
        >
          <TextInput
            name="note"
            label="Note"
            description="Server or person that uses the key"
            maxLength={200}
            autoComplete="off"
            data-autofocus
            required
          />
        </FormButton>
      }
    >
      {created !== undefined && (
        <ShownOnce label="The new API key" value={created} onClose={() => setCreated(undefined)} />
      )}
      <Loaded query={query}>
        {(keys) =>
          keys.length === 0 ? (
            <Empty title="No API keys">A server that calls the API as this bot needs one.</Empty>
          ) : (
            <Rows label="API keys" columns={['Note', 'Id', 'Created', 'Actions']}>
              {keys.map(({ id, note, createdAt }) => (
                <Table.Tr key={id}>
                  <Table.Td>{note || '–'}</Table.Td>
                  <Table.Td>
                    <Code>{id}</Code>
                  </Table.Td>
                  <Table.Td>
                    <Time at={createdAt} />
                  </Table.Td>
                  <Table.Td>
                    <ConfirmButton
                      label="Delete"
                      aria-label={`Delete ${note || id}`}
                      question={`Delete the API key "${note || id}"?`}
                      confirmLabel="Delete the key"
                      changes={options.queryKey}
                      run={() => clientOf(params).deleteBotApiKey({ id })}
                    >
                      Requests with this key are refused at once.
                    </ConfirmButton>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          )
        }
      </Loaded>
    </Section>
  );
}
