import { Button, Loader, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Detail } from '../parts/detail';
import { Failure } from '../parts/failure';
import { providersKey, type ProviderTest, testProvider } from './queries';

/** Button that asks a provider for its models and shows its answer. */
export function ProviderTestButton({ name }: { name: string }) {
  const [isOpen, setOpen] = useState(false);
  const queries = useQueryClient();
  const test = useMutation({
    mutationFn: () => testProvider(name),
    onSuccess: () => queries.invalidateQueries({ queryKey: providersKey }),
  });
  const start = () => {
    setOpen(true);
    test.mutate();
  };
  return (
    <>
      <Button size="compact-sm" variant="default" aria-label={`Test ${name}`} onClick={start}>
        Test
      </Button>
      <Detail title={isOpen ? `Test of ${name}` : undefined} onClose={() => setOpen(false)}>
        {test.isPending && <Loader aria-label="The provider is asked" />}
        {test.isError && <Failure error={test.error} />}
        {test.data && <Answer {...test.data} />}
      </Detail>
    </>
  );
}

function Answer({ models, missing, error, latencyMs }: ProviderTest) {
  if (error !== undefined) return <Text role="alert">{error}</Text>;
  return (
    <Stack gap="xs">
      <Text>
        It answered within {latencyMs} ms and lists {models?.length ?? 0} models: {models?.join(', ')}
      </Text>
      {missing.length > 0 && <Text role="alert">It does not list: {missing.join(', ')}</Text>}
    </Stack>
  );
}
