//! What is the same for everything that authors work on: finding one, showing one, listing all, removing one.
//!
//! These differ in their words only, and a macro writes them, because the description of a route is made from attributes, which cannot be
//! generic. What is special about a resource (making and changing it) stands in its own file.

/// Writes `find` and the handlers that show and remove one of the caller's things.
///
/// A record is shown `as VIEW::of` (by itself), `by FUNCTION` (with what the store knows about it), or `by FUNCTION for caller`.
macro_rules! authored {
    (
        $id:ident at $route:tt, $tag:tt, $about:tt;
        store($one:ident -> $record:ident, $delete:ident);
        $(#[$get_doc:meta])*
        get $get:ident -> $view:ident $shown:tt, shown $how:tt $with:ident $(:: $of:ident)? $(for $caller:ident)?;
        $(#[$delete_doc:meta])*
        delete $remove:ident $gone:tt $(, 409 $in_use:tt)?;
    ) => {
        /// The caller's one of this id.
        pub(super) async fn find(
            state: &ApiState,
            caller: &OrganizationCaller,
            id: $id,
        ) -> Result<$record, ApiError> {
            found(id, state.store().$one(caller.id(), id).await?)
        }

        $(#[$get_doc])*
        #[utoipa::path(
            get,
            path = $route,
            tag = $tag,
            params(("id" = String, Path, description = $about)),
            security(("organization_key" = [])),
            responses((status = 200, description = $shown, body = $view)),
        )]
        pub(crate) async fn $get(
            State(state): State<ApiState>,
            caller: OrganizationCaller,
            Path(id): Path<$id>,
        ) -> Result<Json<$view>, ApiError> {
            let record = find(&state, &caller, id).await?;
            authored!(@show $how state, caller, record, $with $(:: $of)? $(for $caller)?)
        }

        $(#[$delete_doc])*
        #[utoipa::path(
            delete,
            path = $route,
            tag = $tag,
            params(("id" = String, Path, description = $about)),
            security(("organization_key" = [])),
            responses(
                (status = 204, description = $gone),
                $((status = 409, description = $in_use),)?
            ),
        )]
        pub(crate) async fn $remove(
            State(state): State<ApiState>,
            caller: OrganizationCaller,
            Path(id): Path<$id>,
        ) -> Result<StatusCode, ApiError> {
            removed(id, state.store().$delete(caller.id(), id).await?)
        }
    };
    (@show as $state:ident, $caller:ident, $record:ident, $view:ident :: $of:ident) => {
        Ok(Json($view::$of($record)))
    };
    (@show by $state:ident, $caller:ident, $record:ident, $show:ident) => {
        $show(&$state, $record).await
    };
    (@show by $state:ident, $caller:ident, $record:ident, $show:ident for caller) => {
        $show(&$state, &$caller, $record).await
    };
}

/// Writes the handler that lists all of the organization's things of a kind: each `as VIEW::of` a record, or `with` what a method of the store
/// knows about all of them.
macro_rules! authored_list {
    (
        $(#[$doc:meta])*
        $list:ident at $route:tt, $tag:tt -> $view:ident $says:tt;
        store($all:ident by $kind:ident $(, with $with:ident)?), each as $of:ident;
    ) => {
        $(#[$doc])*
        #[utoipa::path(
            get,
            path = $route,
            tag = $tag,
            params(VerialPageQuery),
            security(("organization_key" = [])),
            responses((status = 200, description = $says, body = VerialList<$view>)),
        )]
        pub(crate) async fn $list(
            State(state): State<ApiState>,
            caller: OrganizationCaller,
            page: VerialPage<$kind>,
        ) -> Result<Json<VerialList<$view>>, ApiError> {
            let all = state.store().$all(caller.id(), page.0).await?;
            authored_list!(@answer state, page, all, $view::$of $(, $with)?)
        }
    };
    (@answer $state:ident, $page:ident, $all:ident, $view:ident :: $of:ident) => {
        Ok($page.answer($all, |one| one.id, $view::$of))
    };
    (@answer $state:ident, $page:ident, $all:ident, $view:ident :: $of:ident, $with:ident) => {{
        let ids: Vec<_> = $all.items.iter().map(|one| one.id).collect();
        let mut known = $state.store().$with(&ids).await?;
        Ok($page.answer($all, |one| one.id, |one| {
            let known = known.remove(&one.id);
            $view::$of(one, known)
        }))
    }};
}

pub(super) use {authored, authored_list};
