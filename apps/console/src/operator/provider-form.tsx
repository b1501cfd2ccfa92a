import { Checkbox, JsonInput, NumberInput, PasswordInput, Select, TextInput } from '@mantine/core';
import { FormButton } from '../parts/change-buttons';
import { textIn } from '../parts/form-text';
import { type ModelSettings, type Provider, type ProviderSettings, providersKey, putProvider } from './queries';

const roles = ['auto', 'best', 'fast', 'vision', 'transcription', 'image', 'speech'];
const limitFields = ['max_completion_tokens', 'max_tokens'];
const exampleOfModels = '[{ "name": "qwen3", "prices": { "input": 0.1, "output": 0.4 } }]';

/** @param taken names of providers, which would be replaced */
export function AddProvider({ taken }: { taken: string[] }) {
  const add = async (values: FormData) => {
    const name = textIn(values, 'name');
    if (taken.includes(name))
      throw new Error(`There is a provider "${name}" already: edit it, or choose another name.`);
    await putProvider(name, settingsIn(values));
  };
  return (
    <FormButton label="Add a provider" title="Add a provider" submitLabel="Add" changes={providersKey} submit={add}>
      <TextInput
        name="name"
        label="Name"
        description="Lower-case letters, digits and hyphens. Bots name a model as name:model."
        pattern="[a-z][a-z0-9\-]*"
        maxLength={40}
        autoComplete="off"
        data-autofocus
        required
      />
      <Fields />
    </FormButton>
  );
}

export function EditProvider({ provider }: { provider: Provider }) {
  const { name } = provider;
  return (
    <FormButton
      label="Edit"
      aria-label={`Edit ${name}`}
      title={`Edit ${name}`}
      submitLabel="Save"
      changes={providersKey}
      submit={(values) => putProvider(name, settingsIn(values))}
    >
      <Fields provider={provider} />
    </FormButton>
  );
}

function Fields({ provider }: { provider?: Provider }) {
  return (
    <>
      <TextInput
        name="url"
        label="Address"
        description="A server with OpenAI's API, such as http://vllm:8000 or https://api.openai.com"
        type="url"
        defaultValue={provider?.url}
        autoComplete="off"
        required
      />
      <PasswordInput
        name="key"
        label="Key"
        description={
          provider?.hasKey
            ? 'It is never shown. Without an entry the stored one stays, unless the address changes.'
            : 'It is stored encrypted and never shown again.'
        }
        autoComplete="new-password"
      />
      {provider?.hasKey && <Checkbox name="isWithoutKey" label="Remove the stored key" />}
      <JsonInput
        name="models"
        label="Models"
        description="A JSON list with name, and optionally upstream, aliases, prices, context, maxOutput, abilities and voices. Empty: the server is asked."
        placeholder={exampleOfModels}
        defaultValue={provider?.models?.length ? JSON.stringify(provider.models, null, 2) : ''}
        validationError="This is not JSON"
        autosize
        minRows={3}
        maxRows={12}
      />
      {roles.map((role) => (
        <TextInput
          key={role}
          name={`role ${role}`}
          label={`Model for ${role}`}
          defaultValue={provider?.roles?.[role]}
          autoComplete="off"
        />
      ))}
      <Numbers provider={provider} />
      <Select
        name="limitField"
        label="Field with the longest answer"
        description="max_tokens for older servers"
        data={limitFields}
        defaultValue={provider?.limitField ?? limitFields[0]}
        allowDeselect={false}
      />
    </>
  );
}

function Numbers({ provider }: { provider?: Provider }) {
  return (
    <>
      <NumberInput
        name="concurrency"
        label="Requests at once"
        description="In each process; more wait"
        defaultValue={provider?.concurrency}
        min={1}
        allowDecimal={false}
      />
      <NumberInput
        name="rate"
        label="Requests a minute"
        description="In all processes together"
        defaultValue={provider?.rate}
        min={1}
        allowDecimal={false}
      />
      <NumberInput
        name="timeoutMs"
        label="Time limit in milliseconds"
        description="Until the first byte, and between two parts of a stream"
        defaultValue={provider?.timeoutMs}
        min={100}
        allowDecimal={false}
      />
    </>
  );
}

/** Throws for models that are not a JSON list. */
function settingsIn(values: FormData): ProviderSettings & { key?: string | null } {
  const key = textIn(values, 'key');
  const given = roles.flatMap((role) => {
    const model = textIn(values, `role ${role}`);
    return model === '' ? [] : [[role, model]];
  });
  return {
    url: textIn(values, 'url'),
    key: key !== '' ? key : values.has('isWithoutKey') ? null : undefined,
    models: modelsIn(textIn(values, 'models')),
    roles: Object.fromEntries(given) as Record<string, string>,
    concurrency: numberIn(values, 'concurrency'),
    rate: numberIn(values, 'rate'),
    timeoutMs: numberIn(values, 'timeoutMs'),
    limitField: textIn(values, 'limitField'),
  };
}

function modelsIn(text: string): ModelSettings[] | undefined {
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as ModelSettings[];
  } catch {
    throw new Error('Models must be a JSON list, such as [{ "name": "qwen3" }].');
  }
}

function numberIn(values: FormData, name: string): number | undefined {
  const text = textIn(values, name);
  return text === '' ? undefined : Number(text);
}
