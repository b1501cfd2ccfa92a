import { codeOperations } from '../runner/code';

export const botCode = codeOperations('admin.botCode', 'a bot');
