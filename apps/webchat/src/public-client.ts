// Public client: the entry of its chunk.
export { axios, ChatClientError, ChatHTTPError, Client, isApiError } from '@botpress/chat';
