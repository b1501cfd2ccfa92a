import { Textarea, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { clientOf } from '../api/client';
import { FormButton } from '../parts/change-buttons';
import { textIn } from '../parts/form-text';

export function CreateBot({ workspaceId }: { workspaceId: string }) {
  const navigate = useNavigate();
  const create = async (values: FormData) => {
    const description = textIn(values, 'description') || undefined;
    const { bot } = await clientOf({ workspaceId }).createBot({ name: textIn(values, 'name'), description });
    await navigate({ to: '/w/$workspaceId/bots/$botId', params: { workspaceId, botId: bot.id } });
  };
  return (
    <FormButton
      label="Create a bot"
      title="Create a bot"
      submitLabel="Create"
      button={{ size: 'sm', variant: 'filled' }}
      changes={[workspaceId, 'bots']}
      submit={create}
    >
      <TextInput name="name" label="Name" maxLength={200} autoComplete="off" data-autofocus required />
      <Textarea name="description" label="Description" maxLength={2000} rows={2} />
    </FormButton>
  );
}
