import { Select } from '@mantine/core';
import { type QueryClient, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { textIn } from '../parts/form-text';
import { Loaded } from '../parts/loaded';
import { SchemaFields, valueIn } from '../parts/schema-fields';
import { integrationQuery } from './queries';

interface Props {
  workspaceId: string;
  integrationId: string;
  type?: string | null;
  value?: Record<string, unknown>;
}

const mainType = 'Main configuration';

/** Fields of the configuration that an integration declares, after the choice of one if it has several. */
export function ConfigurationFields({ workspaceId, integrationId, type: chosen = null, value = {} }: Props) {
  const query = useQuery(integrationQuery(workspaceId, integrationId));
  const [type, setType] = useState(chosen);
  return (
    <Loaded query={query}>
      {({ configuration, configurations }) => {
        const others = Object.keys(configurations);
        const { schema } = (type === null ? configuration : configurations[type]) ?? configuration;
        return (
          <>
            {others.length > 0 && (
              <Select
                label="Type of configuration"
                data={[mainType, ...others]}
                value={type ?? mainType}
                allowDeselect={false}
                onChange={(next) => setType(next === mainType ? null : next)}
              />
            )}
            <input type="hidden" name="configurationType" value={type ?? ''} />
            <SchemaFields key={type ?? ''} schema={schema ?? {}} value={type === chosen ? value : {}} />
          </>
        );
      }}
    </Loaded>
  );
}

/** Configuration that was filled in. */
export async function configurationIn(
  queries: QueryClient,
  { workspaceId, integrationId }: Pick<Props, 'workspaceId' | 'integrationId'>,
  values: FormData,
) {
  const integration = await queries.ensureQueryData(integrationQuery(workspaceId, integrationId));
  const configurationType = textIn(values, 'configurationType') || null;
  const { schema } =
    (configurationType === null ? undefined : integration.configurations[configurationType]) ??
    integration.configuration;
  return { configurationType, configuration: valueIn(schema ?? {}, values) };
}
