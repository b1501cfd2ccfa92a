import {
  Anchor,
  Button,
  Checkbox,
  Code,
  ColorInput,
  Group,
  Select,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useCan } from '../api/role';
import { Failure } from '../parts/failure';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { Section } from '../parts/section';
import type { BotParams } from '../bots/queries';
import { choicesIn, linesOf, valuesIn } from './choice-lines';
import { Preview } from './preview';
import { saveSettings, settingsQuery, snippetsQuery, webchatKey, type WebchatSettings } from './queries';

const schemes = [
  { value: 'auto', label: 'As the system of the reader' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

export function WebchatPage() {
  const params = useParams({ from: '/w/$workspaceId/bots/$botId/webchat' });
  const settings = useQuery(settingsQuery(params));
  const snippets = useQuery(snippetsQuery(params));
  return (
    <Page title="Web chat">
      <Loaded query={snippets}>
        {({ element, page }) => (
          <>
            <Section title="Where it is">
              <Text size="sm">
                A page of its own: <Anchor href={page}>{page}</Anchor>
              </Text>
              <Text size="sm">On a page of yours:</Text>
              <Code block>{element}</Code>
            </Section>
            <Loaded query={settings}>
              {(stored) => <Editor params={params} stored={stored} webhookId={page.slice(page.lastIndexOf('/') + 1)} />}
            </Loaded>
          </>
        )}
      </Loaded>
    </Page>
  );
}

interface EditorProps {
  params: BotParams;
  stored: WebchatSettings;
  webhookId: string;
}

function Editor({ params, stored, webhookId }: EditorProps) {
  const canWrite = useCan(params.workspaceId, 'write');
  const queries = useQueryClient();
  const [shown, setShown] = useState(stored);
  const [choices, setChoices] = useState(linesOf(stored.startingChoices ?? []));
  const [origins, setOrigins] = useState((stored.allowedOrigins ?? []).join('\n'));
  const save = useMutation({
    mutationFn: () => saveSettings(params, present({ ...shown, ...listsIn(choices, origins) })),
    onSuccess: () => queries.invalidateQueries({ queryKey: webchatKey(params) }),
  });
  const field = (name: 'title' | 'description' | 'avatarUrl' | 'greeting') => ({
    value: shown[name] ?? '',
    onChange: (event: { currentTarget: { value: string } }) =>
      setShown({ ...shown, [name]: event.currentTarget.value }),
    readOnly: !canWrite,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Section title="Settings">
        <form onSubmit={submit}>
          <Stack gap="sm">
            <TextInput label="Title" placeholder="Name of the bot" maxLength={100} {...field('title')} />
            <TextInput label="Description" maxLength={200} {...field('description')} />
            <TextInput label="Address of the picture" type="url" maxLength={2000} {...field('avatarUrl')} />
            <Textarea label="Greeting" maxLength={1000} rows={2} {...field('greeting')} />
            <ColorInput
              label="Color"
              format="hex"
              eyeDropperButtonProps={{ 'aria-label': 'Pick a color from the screen' }}
              value={shown.primaryColor ?? ''}
              onChange={(primaryColor) => setShown({ ...shown, primaryColor })}
              readOnly={!canWrite}
            />
            <Select
              label="Light or dark"
              data={schemes}
              value={shown.colorScheme ?? 'auto'}
              onChange={(scheme) => setShown({ ...shown, colorScheme: scheme as WebchatSettings['colorScheme'] })}
              readOnly={!canWrite}
              allowDeselect={false}
            />
            <Textarea
              label="Starting choices"
              description="One a line: text of the button, or text of the button | text that is sent"
              rows={3}
              value={choices}
              onChange={(event) => setChoices(event.currentTarget.value)}
              readOnly={!canWrite}
            />
            <Textarea
              label="Allowed origins"
              description="One a line, such as https://www.example.com. Without any, every page may show the chat."
              rows={2}
              value={origins}
              onChange={(event) => setOrigins(event.currentTarget.value)}
              readOnly={!canWrite}
            />
            <Checkbox
              label="Visitors may send files"
              description="Up to 10 MB each. Everybody who knows the address of such a file can read it."
              checked={shown.allowsUploads ?? false}
              onChange={(event) => setShown({ ...shown, allowsUploads: event.currentTarget.checked })}
              disabled={!canWrite}
            />
            {save.isError && <Failure error={save.error} />}
            {canWrite && (
              <Group>
                <Button type="submit" loading={save.isPending}>
                  Save
                </Button>
                {save.isSuccess && (
                  <Text size="sm" role="status">
                    Saved. Pages show it within a few seconds.
                  </Text>
                )}
              </Group>
            )}
          </Stack>
        </form>
      </Section>
      <Section title="Preview">
        <Preview webhookId={webhookId} settings={shown} />
      </Section>
    </SimpleGrid>
  );
}

function listsIn(choices: string, origins: string): Pick<WebchatSettings, 'startingChoices' | 'allowedOrigins'> {
  return { startingChoices: choicesIn(choices), allowedOrigins: valuesIn(origins) };
}

/** Settings without those that are empty, which get their defaults. */
function present(settings: WebchatSettings): WebchatSettings {
  return Object.fromEntries(
    Object.entries(settings as Record<string, string | boolean | unknown[]>).filter(
      ([, value]) => value && (typeof value === 'boolean' || value.length > 0),
    ),
  );
}
