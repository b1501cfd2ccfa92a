import { Modal } from '@mantine/core';
import type { ReactNode } from 'react';

/** Dialog with the detail of a row; open while there is one. Closes at once, because its title is gone then. */
export function Detail({ title, onClose, children }: { title?: string; onClose: () => void; children: ReactNode }) {
  return (
    <Modal
      opened={title !== undefined}
      onClose={onClose}
      title={title}
      size="lg"
      transitionProps={{ duration: 0 }}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {children}
    </Modal>
  );
}
