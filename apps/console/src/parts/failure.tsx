import { Alert, Button, Code, Text } from '@mantine/core';
import { apiErrorOf } from '../api/api-error';

/** Error in the words of the platform, with the id to search the logs for. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const { message, id } = apiErrorOf(error);
  return (
    <Alert color="red" title="That did not work" role="alert">
      <Text size="sm">{message}</Text>
      {id && (
        <Text size="sm" mt="xs">
          Search the logs for <Code>{id}</Code>
        </Text>
      )}
      {retry && (
        <Button mt="sm" size="xs" variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}
