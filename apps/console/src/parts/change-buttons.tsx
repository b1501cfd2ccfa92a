import { Button, type ButtonProps, Group, Stack, Text, TextInput } from '@mantine/core';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Detail } from './detail';
import { Failure } from './failure';

interface Change {
  label: string;
  /** Names the thing as well, where several buttons have the same label. */
  'aria-label'?: string;
  /** Queries that are asked again after a success. */
  changes: QueryKey;
  button?: ButtonProps;
}

interface FormProps extends Change {
  title: string;
  submitLabel: string;
  /** Throws what is shown above the buttons. */
  submit: (values: FormData) => Promise<unknown>;
  children: ReactNode;
}

/** Button that opens a form in a dialog, which closes when the change has succeeded. */
export function FormButton({ title, submitLabel, submit, changes, children, ...opener }: FormProps) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <OpenButton {...opener} onClick={() => setOpen(true)} />
      <Detail title={isOpen ? title : undefined} onClose={close}>
        <ChangeForm submitLabel={submitLabel} submit={submit} changes={changes} onClose={close}>
          {children}
        </ChangeForm>
      </Detail>
    </>
  );
}

interface ConfirmProps extends Change {
  question: string;
  confirmLabel: string;
  /** Names the things that are lost. */
  children: ReactNode;
  /** Text that the person has to type first. */
  typed?: string;
  run: () => Promise<unknown>;
}

/** Button for what cannot be undone: a dialog says what is lost and asks first. */
export function ConfirmButton({ question, confirmLabel, children, typed, run, changes, ...opener }: ConfirmProps) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <OpenButton button={{ color: 'red', variant: 'light' }} {...opener} onClick={() => setOpen(true)} />
      <Detail title={isOpen ? question : undefined} onClose={close}>
        <ChangeForm submitLabel={confirmLabel} submit={run} changes={changes} onClose={close} isDestructive>
          <Text size="sm" component="div">
            {children}
          </Text>
          {typed !== undefined && (
            <TextInput
              label={`Type "${typed}" to confirm`}
              pattern={literal(typed)}
              title={typed}
              autoComplete="off"
              required
            />
          )}
        </ChangeForm>
      </Detail>
    </>
  );
}

interface ActionProps extends Change {
  run: () => Promise<unknown>;
}

/** Button for what needs no question. Its failure is shown beneath it. */
export function ActionButton({ run, changes, ...opener }: ActionProps) {
  const change = useChange(run, changes);
  return (
    <Stack gap={4}>
      <OpenButton {...opener} isLoading={change.isPending} onClick={() => change.mutate()} />
      {change.isError && <Failure error={change.error} />}
    </Stack>
  );
}

interface ChangeFormProps {
  submitLabel: string;
  submit: (values: FormData) => Promise<unknown>;
  changes: QueryKey;
  onClose: () => void;
  isDestructive?: boolean;
  children: ReactNode;
}

function ChangeForm({ submitLabel, submit, changes, onClose, isDestructive = false, children }: ChangeFormProps) {
  const change = useChange(submit, changes, onClose);
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    change.mutate(new FormData(event.currentTarget));
  };
  return (
    <form onSubmit={send}>
      <Stack>
        {children}
        {change.isError && <Failure error={change.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus={isDestructive || undefined}>
            Cancel
          </Button>
          <Button type="submit" color={isDestructive ? 'red' : undefined} loading={change.isPending}>
            {submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function useChange<T = void>(run: (input: T) => Promise<unknown>, changes: QueryKey, onDone?: () => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: changes });
      onDone?.();
    },
  });
}

interface OpenButtonProps extends Omit<Change, 'changes'> {
  isLoading?: boolean;
  onClick: () => void;
}

function OpenButton({ label, button, isLoading, ...rest }: OpenButtonProps) {
  return (
    <Button size="compact-sm" variant="default" loading={isLoading} {...button} {...rest}>
      {label}
    </Button>
  );
}

/** Regular expression that matches this text only. */
function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
