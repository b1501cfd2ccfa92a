import { ActionButton } from '../parts/change-buttons';
import { filesKey, indexAgain, type ShownFile } from './queries';

export function IndexAgain({ botId, file }: { botId: string; file: ShownFile }) {
  return (
    <ActionButton
      label="Index again"
      aria-label={`Index again ${file.key}`}
      changes={filesKey(botId)}
      run={() => indexAgain(botId, file.id)}
    />
  );
}
