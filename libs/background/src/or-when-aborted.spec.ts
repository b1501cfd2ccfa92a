import { orWhenAborted } from './or-when-aborted';

const gone = () => new Error('gone');
const never = new Promise<never>(() => undefined);

it('returns the result of the work, or its failure', async () => {
  const { signal } = new AbortController();

  await expect(orWhenAborted(signal, Promise.resolve(1), gone)).resolves.toBe(1);
  await expect(orWhenAborted(signal, Promise.reject(new Error('failed')), gone)).rejects.toThrow('failed');
});

it('throws the error once the signal is aborted, also when it was before', async () => {
  const controller = new AbortController();
  const result = orWhenAborted(controller.signal, never, gone);

  controller.abort();

  await expect(result).rejects.toThrow('gone');
  await expect(orWhenAborted(AbortSignal.abort(), never, gone)).rejects.toThrow('gone');
});
